//===- ProgramTables.cpp - struct ts_program and what it points to ----------===//

#include "ProgramTables.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/runtime/abi.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

using namespace mlir;
using namespace exec;

namespace {

/// What the program of `module` is called in objects.
std::string programSymbol(ModuleOp module) {
  bool isStage = module->getParentOp() != nullptr;
  return isStage ? ("tessera_program_" + module.getSymName().value_or("")).str() : "tessera_program";
}

class ProgramTables {
public:
  ProgramTables(ModuleOp module, ArrayRef<KernelRow> kernels)
      : module(module), kernels(kernels), b(module.getLoc(), module.getContext()) {
    b.setInsertionPointToEnd(module.getBody());
    ptr = LLVM::LLVMPointerType::get(b.getContext());
    i32 = b.getI32Type();
    i64 = b.getI64Type();
  }

  void emit(ArrayRef<LLVM::LLVMFuncOp> entries, const std::string &manifest) {
    LLVM::GlobalOp entryTable = table("tessera_entries", ptr, entries.size(), [&] {
      SmallVector<Value> functions;
      for (LLVM::LLVMFuncOp entry : entries)
        functions.push_back(LLVM::AddressOfOp::create(b, entry));
      return functions;
    });
    emitProgram(manifest, entryTable, entries.size(), {});
    // Several programs may be linked into one executable: nothing but the program is to be seen from outside.
    if (module->getParentOp())
      for (auto function : module.getOps<LLVM::LLVMFuncOp>())
        if (!function.isExternal())
          function.setLinkage(LLVM::Linkage::Internal);
  }

  void emitStages(ArrayRef<ModuleOp> stages, const std::string &manifest) {
    SmallVector<LLVM::GlobalOp> programs;
    for (ModuleOp stage : stages)
      programs.push_back(global(programType(), programSymbol(stage), LLVM::Linkage::External));
    LLVM::GlobalOp programTable = table("tessera_programs", ptr, programs.size(), [&] {
      return llvm::map_to_vector(programs, [&](LLVM::GlobalOp op) { return address(op); });
    });
    emitProgram(manifest, table("tessera_entries", ptr, 0, [] { return SmallVector<Value>(); }), 0,
                {programTable, programs.size()});
  }

  void emitVersions(ArrayRef<std::string> versions) {
    SmallVector<LLVM::GlobalOp> names, programs;
    for (const std::string &version : versions) {
      names.push_back(lineGlobal("tessera_version_" + version, version));
      programs.push_back(
          global(programType(), programSymbol(module) + "_" + version, LLVM::Linkage::External));
    }
    auto type = structType({ptr, ptr});
    LLVM::GlobalOp rows = table("tessera_versions", type, versions.size(), [&] {
      return llvm::map_to_vector(llvm::zip(names, programs), [&](auto row) {
        return structOf(type, {address(std::get<0>(row)), address(std::get<1>(row))});
      });
    });
    LLVM::GlobalOp program = global(programType(), programSymbol(module), LLVM::Linkage::External);
    initialize(program, programType(), [&] {
      SmallVector<Value> fields;
      for (Type field : programType().getBody())
        fields.push_back(LLVM::ZeroOp::create(b, field));
      fields.front() = number(i32, TESSERA_ABI_VERSION);
      fields[fields.size() - 2] = address(rows);
      fields.back() = number(i64, versions.size());
      return fields;
    });
  }

private:
  LLVM::LLVMStructType programType() {
    return structType({i32, i32, i32, ptr, i64, ptr, ptr, ptr, i64, ptr, i64, ptr, i64, ptr, i64});
  }

  void emitProgram(const std::string &manifest, LLVM::GlobalOp entryTable, size_t numEntries,
                   std::pair<LLVM::GlobalOp, size_t> programs) {
    LLVM::GlobalOp text = textGlobal(kManifestSymbol, manifest);
    LLVM::GlobalOp kernelTable = emitKernels();
    auto [siblingTable, siblingCount] = emitSiblings();
    auto [imageTable, imageCount] = emitImages();
    LLVM::GlobalOp program = global(programType(), programSymbol(module), LLVM::Linkage::External);
    initialize(program, programType(),
               [&, siblings = siblingTable, images = imageTable, numSiblings = siblingCount,
                numImages = imageCount]() -> SmallVector<Value> {
                 return {number(i32, TESSERA_ABI_VERSION),
                         number(i32, numEntries),
                         number(i32, kernels.size()),
                         address(text),
                         number(i64, manifest.size()),
                         address(entryTable),
                         address(kernelTable),
                         address(images),
                         number(i64, numImages),
                         address(siblings),
                         number(i64, numSiblings),
                         programs.first ? address(programs.first) : LLVM::ZeroOp::create(b, ptr).getResult(),
                         number(i64, programs.second),
                         LLVM::ZeroOp::create(b, ptr), // versions are listed by none of them
                         number(i64, 0)};
               });
  }

  /// An array of ts_kernel.
  LLVM::GlobalOp emitKernels() {
    SmallVector<LLVM::GlobalOp> names, buffers;
    for (const KernelRow &kernel : kernels) {
      StringRef name = kernel.name.getValue();
      names.push_back(lineGlobal("tessera_name_" + name, name));
      SmallVector<int64_t> flat;
      for (auto [bytes, access] : kernel.buffers)
        flat.append({bytes, access});
      buffers.push_back(global(
          LLVM::LLVMArrayType::get(i64, flat.size()), "tessera_buffers_" + name, LLVM::Linkage::Internal,
          DenseElementsAttr::get(RankedTensorType::get({int64_t(flat.size())}, i64), ArrayRef(flat))));
    }
    SymbolTable symbols(module);
    auto type = structType({ptr, ptr, ptr, i32, i32, i32, i32, i64});
    return table("tessera_kernels", type, kernels.size(), [&] {
      SmallVector<Value> rows;
      for (auto [name, list, kernel] : llvm::zip(names, buffers, kernels)) {
        auto onDevice = symbols.lookup<DeviceKernelOp>(kernel.name);
        Value function = onDevice ? Value(LLVM::ZeroOp::create(b, ptr))
                                  : LLVM::AddressOfOp::create(b, ptr, FlatSymbolRefAttr::get(kernel.name));
        rows.push_back(
            structOf(type, {address(name), function, address(list), number(i32, kernel.buffers.size()),
                            number(i32, kernel.scalars), number(i32, onDevice ? onDevice.getThreads() : 0),
                            number(i32, onDevice ? onDevice.getShared() : 0),
                            number(i64, onDevice ? onDevice.getPerBlock() : 0)}));
      }
      return rows;
    });
  }

  /// An array of ts_sibling, of kernels that are launched.
  std::pair<LLVM::GlobalOp, size_t> emitSiblings() {
    struct Row {
      DeviceSiblingOp op;
      int64_t kernel;
      LLVM::GlobalOp name, key;
    };
    SmallVector<Row> siblings;
    for (auto op : module.getOps<DeviceSiblingOp>()) {
      auto *kernel = llvm::find_if(
          kernels, [&](const KernelRow &row) { return row.name == op.getKernelAttr().getAttr(); });
      if (kernel != kernels.end())
        siblings.push_back({op, kernel - kernels.begin(),
                            lineGlobal("tessera_name_" + op.getSymName(), op.getSymName()),
                            lineGlobal("tessera_key_" + op.getSymName(), op.getKey())});
    }
    auto type = structType({ptr, ptr, i32, i32, i32, i32, i64, i64, i64, i64});
    LLVM::GlobalOp rows = table("tessera_siblings", type, siblings.size(), [&] {
      SmallVector<Value> values;
      for (Row &row : siblings)
        values.push_back(structOf(type, {address(row.name), address(row.key), number(i32, row.kernel),
                                         number(i32, row.op.getThreads()), number(i32, row.op.getShared()),
                                         number(i32, row.op.getAscending()), number(i64, row.op.getRow()),
                                         number(i64, row.op.getFirst()), number(i64, row.op.getCount()),
                                         number(i64, row.op.getBlocks())}));
      return values;
    });
    return {rows, siblings.size()};
  }

  /// An array of ts_image.
  std::pair<LLVM::GlobalOp, size_t> emitImages() {
    SmallVector<ImageOp> images(module.getOps<ImageOp>());
    SmallVector<LLVM::GlobalOp> architectures, contents;
    for (auto [i, image] : llvm::enumerate(images)) {
      architectures.push_back(lineGlobal("tessera_image_architecture_" + Twine(i), image.getArchitecture()));
      contents.push_back(lineGlobal("tessera_image_" + Twine(i), image.getData()));
      contents.back().setAlignment(64);
    }
    auto type = structType({ptr, ptr, i64});
    LLVM::GlobalOp rows = table("tessera_images", type, images.size(), [&] {
      SmallVector<Value> values;
      for (auto [architecture, content, image] : llvm::zip(architectures, contents, images))
        values.push_back(
            structOf(type, {address(architecture), address(content), number(i64, image.getData().size())}));
      return values;
    });
    return {rows, images.size()};
  }

  LLVM::LLVMStructType structType(ArrayRef<Type> fields) {
    return LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  }
  Value address(LLVM::GlobalOp op) { return LLVM::AddressOfOp::create(b, op); }
  Value number(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
  }
  Value structOf(Type type, ArrayRef<Value> fields) {
    Value row = LLVM::UndefOp::create(b, type);
    for (auto [i, field] : llvm::enumerate(fields))
      row = LLVM::InsertValueOp::create(b, row, field, ArrayRef<int64_t>{int64_t(i)});
    return row;
  }
  LLVM::GlobalOp global(Type type, const Twine &name, LLVM::Linkage linkage, Attribute value = {}) {
    return LLVM::GlobalOp::create(b, type, /*isConstant=*/true, linkage, name.str(), value, /*alignment=*/8);
  }
  LLVM::GlobalOp textGlobal(const Twine &name, const std::string &bytes) {
    return global(LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()), name, LLVM::Linkage::Internal,
                  b.getStringAttr(bytes));
  }
  /// A text that ends with a zero.
  LLVM::GlobalOp lineGlobal(const Twine &name, StringRef text) {
    return textGlobal(name, text.str() + std::string(1, '\0'));
  }
  void initialize(LLVM::GlobalOp op, Type type, llvm::function_ref<SmallVector<Value>()> make) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getInitializerRegion());
    Value all = LLVM::UndefOp::create(b, type);
    for (auto [i, value] : llvm::enumerate(make()))
      all = LLVM::InsertValueOp::create(b, all, value, ArrayRef<int64_t>{int64_t(i)});
    LLVM::ReturnOp::create(b, all);
  }
  LLVM::GlobalOp table(StringRef name, Type row, size_t rows, llvm::function_ref<SmallVector<Value>()> make) {
    auto type = LLVM::LLVMArrayType::get(row, rows);
    LLVM::GlobalOp op = global(type, name, LLVM::Linkage::Internal);
    initialize(op, type, make);
    return op;
  }

  ModuleOp module;
  ArrayRef<KernelRow> kernels;
  ImplicitLocOpBuilder b;
  Type ptr, i32, i64;
};

} // namespace

void emitProgramTables(ModuleOp module, ArrayRef<LLVM::LLVMFuncOp> entries, ArrayRef<KernelRow> kernels,
                       const std::string &manifest) {
  ProgramTables(module, kernels).emit(entries, manifest);
}

void emitStageTables(ModuleOp module, ArrayRef<ModuleOp> stages, const std::string &manifest) {
  ProgramTables(module, {}).emitStages(stages, manifest);
}

void emitVersionTable(ModuleOp module, ArrayRef<std::string> versions) {
  ProgramTables(module, {}).emitVersions(versions);
}

} // namespace tessera
