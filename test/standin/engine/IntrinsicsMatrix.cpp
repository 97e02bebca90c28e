#include "Intrinsics.h"
namespace standin {
void addMatrixRules(RuleTable &table) {}
void addConversionRules(RuleTable &table) {}
} // namespace standin
