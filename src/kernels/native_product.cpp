// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "native_product.hpp"

#include <map>
#include <string>
#include <tuple>

#include "library_threads.hpp"
#include <oneapi/dnnl/dnnl.hpp>

#include "wsc/base/error.hpp"

namespace wsc::kernels {
namespace {

using dnnl::memory;

template <class Format>
constexpr memory::data_type type_of = memory::data_type::undef;
template <>
constexpr memory::data_type type_of<bfloat16> = memory::data_type::bf16;
template <>
constexpr memory::data_type type_of<float16> = memory::data_type::f16;

/// What the library compiles a primitive for.
struct Shape {
  Transpose ta, tb;
  std::int64_t m, n, k, a_stride, b_stride, c_stride;
  bool adds;
  int threads;
  auto operator<=>(const Shape&) const = default;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc matrix(memory::data_type type, Transpose t, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  return {{rows, columns}, type, t == Transpose::yes ? memory::dims{1, stride} : memory::dims{stride, 1}};
}

template <class Format>
dnnl::matmul::primitive_desc describe(const Shape& s) {
  const memory::desc a = matrix(type_of<Format>, s.ta, s.m, s.k, s.a_stride), b = matrix(type_of<Format>, s.tb, s.k, s.n, s.b_stride);
  const memory::desc c = matrix(memory::data_type::f32, Transpose::no, s.m, s.n, s.c_stride);
  dnnl::primitive_attr attributes;
  if (s.adds) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine()};
#endif
}

/// Compiled by the thread that runs it: the library's scratch memory belongs to threads.
template <class Format>
const dnnl::matmul& compiled(const Shape& shape) {
  thread_local std::map<Shape, dnnl::matmul> cache;
  const auto found = cache.find(shape);
  return found != cache.end() ? found->second : cache.emplace(shape, dnnl::matmul(describe<Format>(shape))).first->second;
}

bool processor_has(int features) { return (static_cast<int>(dnnl::get_effective_cpu_isa()) & features) == features; }

/// The library multiplies all formats on all processors; what it calls its reference does so element by element.
template <class Format>
bool beyond_reference() {
  const Shape shape{Transpose::no, Transpose::yes, 64, 64, 64, 64, 64, 64, true, 1};
  try {
    return std::string(describe<Format>(shape).impl_info_str()).find("ref") == std::string::npos;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace

template <>
bool native_products<bfloat16>() {
  static const bool yes = processor_has(dnnl_cpu_isa_avx512_core_bf16) && beyond_reference<bfloat16>();
  return yes;
}

template <>
bool native_products<float16>() {
#if DNNL_VERSION_MAJOR >= 3
  static const bool yes = processor_has(dnnl_cpu_isa_avx512_core_fp16) && beyond_reference<float16>();
  return yes;
#else
  return false;  // the library knows no instructions for it
#endif
}

template <>
bool native_products<cbfloat16>() {
  return false;
}

template <class Format>
void native_product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Format> a,
                    Operand<Format> b, bool adds, float* c, std::int64_t c_stride) {
  with_library_threads(exec, m, n, [=](const Block& block) {
    const Shape shape{ta,       tb,       block.rows, block.columns, k,
                      a.stride, b.stride, c_stride,   adds,          omp_in_parallel() != 0 ? 1 : omp_get_max_threads()};
    const dnnl::matmul& multiply = compiled<Format>(shape);
    const auto bound = [](const memory::desc& description, const void* data) {
      return memory(description, engine(), const_cast<void*>(data));
    };
    dnnl::stream stream(engine());
    multiply.execute(
        stream,
        {{DNNL_ARG_SRC, bound(matrix(type_of<Format>, ta, block.rows, k, a.stride), a.data + offset(ta, block.i, 0, a.stride))},
         {DNNL_ARG_WEIGHTS, bound(matrix(type_of<Format>, tb, k, block.columns, b.stride), b.data + offset(tb, 0, block.j, b.stride))},
         {DNNL_ARG_DST,
          bound(matrix(memory::data_type::f32, Transpose::no, block.rows, block.columns, c_stride), c + block.i * c_stride + block.j)}});
    stream.wait();
  });
}

template <>
void native_product(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, Operand<cbfloat16>, Operand<cbfloat16>,
                    bool, float*, std::int64_t) {
  contract_violated("assertion", "no processor multiplies cbfloat16", std::source_location::current());
}

template void native_product(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, Operand<bfloat16>,
                             Operand<bfloat16>, bool, float*, std::int64_t);
template void native_product(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, Operand<float16>,
                             Operand<float16>, bool, float*, std::int64_t);

}  // namespace wsc::kernels
