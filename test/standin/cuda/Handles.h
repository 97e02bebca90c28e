// Handles of the API: numbers that no memory lies behind and that are never given twice, so that a handle
// that was destroyed, or is of another kind, is known to be.
#ifndef TESSERA_STANDIN_CUDA_HANDLES_H
#define TESSERA_STANDIN_CUDA_HANDLES_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace standin {

template <typename Object, typename Handle> class Handles {
public:
  // `kind`: a number for the handles of this kind alone.
  Handles(const char *name, uint64_t kind) : name_(name), base_((uint64_t(0x5a00) + kind) << 44) {}

  Handle add(std::shared_ptr<Object> object) {
    uint64_t number = ++count_;
    live_[number] = std::move(object);
    return reinterpret_cast<Handle>(base_ + number * 16);
  }
  std::shared_ptr<Object> find(Handle handle) const {
    auto found = live_.find(numberOf(handle));
    return found == live_.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { live_.erase(numberOf(handle)); }
  // What is wrong with a handle that is not found: "stream 3 was destroyed".
  std::string describe(Handle handle) const {
    uint64_t number = numberOf(handle);
    if (!handle)
      return std::string("the ") + name_ + " is null";
    if (number >= 1 && number <= count_)
      return std::string(name_) + " " + std::to_string(number) + " was destroyed";
    return "this is the handle of no " + std::string(name_);
  }
  std::string nameOf(Handle handle) const {
    return std::string(name_) + " " + std::to_string(numberOf(handle));
  }
  const std::map<uint64_t, std::shared_ptr<Object>> &live() const { return live_; }

private:
  uint64_t numberOf(Handle handle) const {
    uint64_t bits = reinterpret_cast<uint64_t>(handle);
    return bits > base_ && (bits - base_) % 16 == 0 ? (bits - base_) / 16 : 0;
  }
  const char *name_;
  uint64_t base_, count_ = 0;
  std::map<uint64_t, std::shared_ptr<Object>> live_; // by number
};

} // namespace standin
#endif
