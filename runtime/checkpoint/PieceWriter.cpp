#include "PieceWriter.h"

#include <algorithm>
#include <cstring>

namespace tessera::checkpoint {

bool PieceWriter::add(int64_t element, const char *from, int64_t stride, int64_t count) {
  if (element != begin_ + int64_t(buffer_.size() / element_)) {
    if (!flush())
      return false;
    begin_ = element;
  }
  while (count > 0) {
    int64_t now = std::min<int64_t>(count, int64_t((capacity - buffer_.size()) / element_));
    size_t at = buffer_.size();
    buffer_.resize(at + size_t(now) * element_);
    if (stride == 1)
      std::memcpy(buffer_.data() + at, from, size_t(now) * element_);
    else
      for (int64_t i = 0; i < now; ++i)
        std::memcpy(buffer_.data() + at + size_t(i) * element_, from + size_t(i * stride) * element_,
                    element_);
    from += size_t(now * stride) * element_;
    count -= now;
    if (buffer_.size() + element_ > capacity && !flush())
      return false;
  }
  return true;
}

bool PieceWriter::flush() {
  int64_t count = int64_t(buffer_.size() / element_);
  if (count > 0) {
    sum_ += placeSum(begin_, buffer_.data(), count, int64_t(element_));
    error_ =
        file_.writeAt(buffer_.data(), buffer_.size(), tensor_.offset + uint64_t(begin_) * uint64_t(element_));
  }
  begin_ += count;
  buffer_.clear();
  return error_ == 0;
}

} // namespace tessera::checkpoint
