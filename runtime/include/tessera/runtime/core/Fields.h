// One object of the manifest, read field by field: what nobody asked for is an error, so that nothing is read
// and ignored. Drivers read their section of it in the same way (readSection).
#ifndef TESSERA_RUNTIME_CORE_FIELDS_H
#define TESSERA_RUNTIME_CORE_FIELDS_H

#include "tessera/runtime/core/Manifest.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace tessera::runtime {

using Json = nlohmann::json;

// Throws the error of a manifest that cannot be used.
[[noreturn]] void damaged(const std::string &where, const std::string &why);

class Fields {
public:
  Fields(const Json &json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object())
      damaged(where_, "is no object");
  }
  // A field that must be there.
  const Json &operator[](const char *name) {
    const Json *value = find(name);
    if (!value)
      damaged(where_, std::string("has no \"") + name + "\"");
    return *value;
  }
  // A field that may be missing, or null for the same.
  const Json *find(const char *name) {
    asked_.insert(name);
    auto it = json_.find(name);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  template <typename T> T get(const char *name) { return (*this)[name].get<T>(); }
  template <typename T> T get(const char *name, T otherwise) {
    const Json *value = find(name);
    return value ? value->get<T>() : otherwise;
  }
  // To be called at last.
  void checkAllRead() const {
    for (auto &[name, value] : json_.items())
      if (!asked_.count(name))
        damaged(where_, "has a field \"" + name + "\" that this runtime does not know");
  }

private:
  const Json &json_;
  std::string where_;
  std::set<std::string> asked_;
};

// Has `read` take the fields of the target's section; of none if there is no section. Throws Error on what it
// cannot take and on fields that it does not ask for.
template <typename Read> void readSection(const Manifest &manifest, Read &&read) {
  try {
    Json json = manifest.section.empty() ? Json::object() : Json::parse(manifest.section);
    Fields fields(json, manifest.target);
    read(fields);
    fields.checkAllRead();
  } catch (const Json::exception &e) {
    damaged(manifest.target, e.what());
  }
}

} // namespace tessera::runtime
#endif
