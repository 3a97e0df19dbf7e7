// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/graph/graph.hpp"

#include <sstream>

namespace wsc {

std::int64_t Graph::parameters() const {
  std::int64_t n = 0;
  for (const Param& p : params) n += p.elements();
  return n;
}

std::int64_t Graph::offset(ParamId id) const {
  const Param& p = (*this)[id];
  return (*this)[p.weight].offset + p.first_row * p.columns;
}

ParamId Graph::find(const std::string& name) const {
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].name == name) return ParamId(i);
  return {};
}

std::string describe(const Graph& graph) {
  std::ostringstream out;
  for (const Stage& stage : graph.stages) {
    out << stage.name << (stage.coupling == Coupling::sample ? "  (whole samples)" : "  (any rows)") << "\n";
    for (const BlockId b : stage.blocks) {
      out << "  block " << graph[b].name << ": " << graph[b].elements << " elements";
      for (const WeightId w : graph[b].weights)
        for (const ParamId p : graph[w].params) {
          const Param& param = graph[p];
          out << "\n    " << param.name << " (" << param.rows;
          if (!param.is_vector) out << ", " << param.columns;
          out << ")" << (param.decays ? "  decays" : "");
        }
      out << "\n";
    }
    for (const Op& op : stage.ops) {
      out << "  " << op_name(op) << ":";
      for (const TensorId t : op_inputs(op)) out << " " << graph[t].name;
      out << " →";
      for (const TensorId t : op_outputs(op))
        out << " " << graph[t].name << "[" << graph[t].width << (graph[t].dtype == Dtype::fp32 ? ", fp32]" : "]");
      out << "\n";
    }
  }
  return out.str();
}

}  // namespace wsc
