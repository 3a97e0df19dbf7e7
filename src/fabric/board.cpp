// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/board.hpp"

#include <algorithm>
#include <cstring>

#include "wsc/fabric/channel.hpp"

namespace wsc::fabric {
namespace {

bool is_control(Collective c) { return c == Collective::control_broadcast || c == Collective::control_gather; }

constexpr std::size_t alignment = 64;

void add(std::byte* sum, const std::byte* part, std::int64_t bytes) {
  float* into = reinterpret_cast<float*>(sum);
  const float* from = reinterpret_cast<const float*>(part);
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(float)); ++i) into[i] += from[i];
}

// The root takes from all members at once, in rank order, when the last one has arrived.
void collect(Board::Meeting& meeting) {
  const auto bytes = static_cast<std::size_t>(meeting.bytes);
  for (std::size_t i = 0; i < meeting.data.size(); ++i) {
    if (meeting.collective == Collective::control_gather) std::memcpy(meeting.gathered + i * bytes, meeting.data[i], bytes);
    if (meeting.collective == Collective::reduce && i > 0) add(meeting.data[0], meeting.data[i], meeting.bytes);
  }
  std::fill(meeting.served.begin(), meeting.served.end(), true);
}

}  // namespace

Board::Board(const Layout& layout, int csx_per_window)
    : layout_(layout), csx_per_window_(csx_per_window > 0 ? csx_per_window : layout.csx) {
  for (int first = 0; first < layout.csx; first += csx_per_window_) {
    Window& w = windows_.emplace_back();
    w.members = std::min(csx_per_window_, layout.csx - first);
    w.signs.resize(WindowSigns::bytes(w.members, layout.memoryx) + alignment);
    WindowSigns::make(aligned(w.signs), w.members, layout.memoryx);
  }
}

std::byte* Board::aligned(std::vector<std::byte>& memory) {
  void* at = memory.data();
  std::size_t room = memory.size();
  return static_cast<std::byte*>(std::align(alignment, memory.size() - alignment, at, room));
}

int Board::ask(Window& window, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  const int round = window.rounds;
  if (++window.asked < window.members) return round;
  window.data.resize(std::max(window.data.size(), static_cast<std::size_t>(bytes) + alignment));
  window.asked = 0;
  ++window.rounds;
  return round;
}

bool Board::given(const Window& window, int round) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  return window.rounds > round;
}

void Board::expect_running() {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
}

std::size_t Board::members(const Message& message) const {
  if (is_control(message.collective)) return static_cast<std::size_t>(layout_.ranks());
  return message.collective == Collective::broadcast ? windows_.size() + 1 : static_cast<std::size_t>(layout_.csx + 1);
}

std::size_t Board::member(Rank rank, Collective collective) const {
  if (is_control(collective)) return static_cast<std::size_t>(rank.index);
  if (layout_.is_memoryx(rank)) return 0;
  const int csx = layout_.csx_of(rank).index;
  return static_cast<std::size_t>((collective == Collective::broadcast ? csx / csx_per_window_ : csx) + 1);
}

void Board::throw_if_stopped() const {
  if (stopped_by_.valid()) throw RunAborted("rank " + std::to_string(stopped_by_.index) + " has ended the run");
}

std::shared_ptr<Board::Meeting> Board::join(Rank rank, const Message& message, std::int64_t position) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  const Key key{is_control(message.collective), message.collective == Collective::reduce, message.shard.index, position};
  std::shared_ptr<Meeting>& meeting = meetings_[key];
  const std::size_t count = members(message), mine = member(rank, message.collective);
  if (!meeting) {
    meeting = std::make_shared<Meeting>();
    meeting->collective = message.collective;
    meeting->bytes = message.bytes;
    meeting->data.resize(count);
    meeting->served.resize(count);
  }
  if (meeting->collective != message.collective || meeting->bytes != message.bytes) {
    throw SystemError("bug: rank " + std::to_string(rank.index) + " posts " + std::to_string(message.bytes) + " bytes as message " +
                      std::to_string(position) + " of its lane where another rank posted " + std::to_string(meeting->bytes) +
                      ": their plans differ");
  }
  meeting->data[mine] = message.data;
  if (message.gathered != nullptr) meeting->gathered = message.gathered;
  const std::shared_ptr<Meeting> result = meeting;
  if (++result->arrived == static_cast<int>(count)) meetings_.erase(key);
  return result;
}

bool Board::serve(Rank rank, Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  const std::size_t mine = member(rank, meeting.collective);
  const bool root_collects = meeting.collective == Collective::reduce || meeting.collective == Collective::control_gather;
  if (root_collects) {
    if (mine == 0 && meeting.arrived == static_cast<int>(meeting.data.size())) collect(meeting);
    return meeting.served[mine];
  }
  if (mine == 0) return std::all_of(meeting.served.begin() + 1, meeting.served.end(), [](bool s) { return s; });
  if (meeting.data[0] == nullptr) return false;
  std::memcpy(meeting.data[mine], meeting.data[0], static_cast<std::size_t>(meeting.bytes));
  meeting.served[mine] = true;
  return true;
}

std::shared_ptr<Board::Letter> Board::post(const Address& address, const std::byte* from, std::byte* to, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  std::shared_ptr<Letter>& place = letters_[address];
  const bool second = place != nullptr;
  if (!second) place = std::make_shared<Letter>(Letter{.bytes = bytes});
  if (place->bytes != bytes)
    throw SystemError("bug: two ranks exchange messages of " + std::to_string(bytes) + " and " + std::to_string(place->bytes) +
                      " bytes: their plans differ");
  if (from != nullptr) place->from = from;
  if (to != nullptr) place->to = to;
  const std::shared_ptr<Letter> letter = place;
  if (second) letters_.erase(address);
  return letter;
}

bool Board::deliver(Letter& letter) {
  const std::lock_guard lock(mutex_);
  throw_if_stopped();
  if (!letter.delivered && letter.from != nullptr && letter.to != nullptr) {
    std::memcpy(letter.to, letter.from, static_cast<std::size_t>(letter.bytes));
    letter.delivered = true;
  }
  return letter.delivered;
}

void Board::stop(Rank rank) {
  const std::lock_guard lock(mutex_);
  if (!stopped_by_.valid()) stopped_by_ = rank;
}

}  // namespace wsc::fabric
