//===- Target.cpp - the registry of targets -------------------------------===//

#include "tessera/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera {

static std::vector<TargetDescription> &registry() {
  static std::vector<TargetDescription> list;
  return list;
}

void registerTarget(TargetDescription description) {
  assert(llvm::none_of(registry(),
                       [&](const TargetDescription &other) { return other.name == description.name; }) &&
         "two targets of one name");
  registry().push_back(std::move(description));
}

llvm::ArrayRef<TargetDescription> registeredTargets() { return registry(); }

static std::string flag(llvm::StringRef name, llvm::StringRef value) {
  return ("--" + name + "=" + value).str();
}

template <typename T> static std::string namesOf(const std::vector<T> &list, llvm::StringRef prefix) {
  return llvm::join(llvm::map_range(list, [&](const T &item) { return prefix.str() + item.name; }), ", ");
}

Result<std::shared_ptr<const Target>> resolveTarget(llvm::StringRef name, const TargetOptions &options) {
  auto it = llvm::find_if(registry(), [&](const TargetDescription &entry) { return entry.name == name; });
  if (it == registry().end())
    return Failure{"cannot compile", flag("target", name), "there is no such target",
                   "choose one of " + namesOf(registry(), "")};
  for (const auto &[option, value] : options)
    if (llvm::none_of(it->options,
                      [&, &option = option](const TargetOption &known) { return known.name == option; }))
      return Failure{"cannot compile", flag(option, value), "target " + it->name + " has no such option",
                     it->options.empty() ? "leave it out" : "its options are " + namesOf(it->options, "--")};
  return it->resolve(options);
}

std::vector<TargetVersion> targetVersions(llvm::StringRef name, const TargetOptions &options) {
  for (const TargetDescription &entry : registry())
    if (entry.name == name && entry.versions)
      return entry.versions(options);
  return {};
}

std::shared_ptr<const Target> resolveTarget(mlir::Operation *op, llvm::StringRef name,
                                            llvm::StringRef options) {
  Result<std::shared_ptr<const Target>> target = resolveTarget(name, parseTargetOptions(options));
  if (target)
    return target.take();
  const Failure &failure = target.failure();
  op->emitError() << "cannot be compiled with " << failure.where << ": " << failure.why << "; "
                  << failure.hint;
  return nullptr;
}

std::string printTargetOptions(const TargetOptions &options) {
  return llvm::join(
      llvm::map_range(options, [](const auto &option) { return option.first + "=" + option.second; }), ",");
}

TargetOptions parseTargetOptions(llvm::StringRef text) {
  TargetOptions options;
  for (llvm::StringRef item : llvm::split(text, ','))
    if (!item.empty()) {
      auto [name, value] = item.split('=');
      options[name.str()] = value.str();
    }
  return options;
}

} // namespace tessera
