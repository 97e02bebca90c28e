; Matrix instructions for the kernels in C: clang has no builtins for these. Words of a thread lie in its own memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3))
declare {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3))
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3), i32, i32, i32, i32)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float)
declare {i32, i32, i32, i32} @llvm.nvvm.mma.m16n8k32.row.col.s8(i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)

declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 immarg)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()

define void @wgmma_fence() alwaysinline convergent {
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  ret void
}

define void @wgmma_commit() alwaysinline convergent {
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  ret void
}

define void @wgmma_wait(i32 %pending) alwaysinline convergent {
  %all = icmp eq i32 %pending, 0
  br i1 %all, label %none, label %one
none:
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  ret void
one:
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 1)
  ret void
}

define void @proxy_fence() alwaysinline convergent {
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  ret void
}

define void @ldmatrix_x4(ptr %out, ptr addrspace(3) %row) alwaysinline convergent {
  %r = call {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %row)
  %v0 = extractvalue {i32, i32, i32, i32} %r, 0
  %p0 = getelementptr i32, ptr %out, i64 0
  store i32 %v0, ptr %p0
  %v1 = extractvalue {i32, i32, i32, i32} %r, 1
  %p1 = getelementptr i32, ptr %out, i64 1
  store i32 %v1, ptr %p1
  %v2 = extractvalue {i32, i32, i32, i32} %r, 2
  %p2 = getelementptr i32, ptr %out, i64 2
  store i32 %v2, ptr %p2
  %v3 = extractvalue {i32, i32, i32, i32} %r, 3
  %p3 = getelementptr i32, ptr %out, i64 3
  store i32 %v3, ptr %p3
  ret void
}

define void @ldmatrix_x4_trans(ptr %out, ptr addrspace(3) %row) alwaysinline convergent {
  %r = call {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) %row)
  %v0 = extractvalue {i32, i32, i32, i32} %r, 0
  %p0 = getelementptr i32, ptr %out, i64 0
  store i32 %v0, ptr %p0
  %v1 = extractvalue {i32, i32, i32, i32} %r, 1
  %p1 = getelementptr i32, ptr %out, i64 1
  store i32 %v1, ptr %p1
  %v2 = extractvalue {i32, i32, i32, i32} %r, 2
  %p2 = getelementptr i32, ptr %out, i64 2
  store i32 %v2, ptr %p2
  %v3 = extractvalue {i32, i32, i32, i32} %r, 3
  %p3 = getelementptr i32, ptr %out, i64 3
  store i32 %v3, ptr %p3
  ret void
}

define void @ldmatrix_x2(ptr %out, ptr addrspace(3) %row) alwaysinline convergent {
  %r = call {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %row)
  %v0 = extractvalue {i32, i32} %r, 0
  %p0 = getelementptr i32, ptr %out, i64 0
  store i32 %v0, ptr %p0
  %v1 = extractvalue {i32, i32} %r, 1
  %p1 = getelementptr i32, ptr %out, i64 1
  store i32 %v1, ptr %p1
  ret void
}

define void @ldmatrix_x1(ptr %out, ptr addrspace(3) %row) alwaysinline convergent {
  %r = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %row)
  %p0 = getelementptr i32, ptr %out, i64 0
  store i32 %r, ptr %p0
  ret void
}

define void @stmatrix_x4(ptr addrspace(3) %row, ptr %in) alwaysinline convergent {
  %p0 = getelementptr i32, ptr %in, i64 0
  %v0 = load i32, ptr %p0
  %p1 = getelementptr i32, ptr %in, i64 1
  %v1 = load i32, ptr %p1
  %p2 = getelementptr i32, ptr %in, i64 2
  %v2 = load i32, ptr %p2
  %p3 = getelementptr i32, ptr %in, i64 3
  %v3 = load i32, ptr %p3
  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %row, i32 %v0, i32 %v1, i32 %v2, i32 %v3)
  ret void
}

; sums += a * b
define void @mma_bf16(ptr %sums, ptr %a, ptr %b) alwaysinline convergent {
  %a.p0 = getelementptr i32, ptr %a, i64 0
  %a.v0 = load i32, ptr %a.p0
  %a.p1 = getelementptr i32, ptr %a, i64 1
  %a.v1 = load i32, ptr %a.p1
  %a.p2 = getelementptr i32, ptr %a, i64 2
  %a.v2 = load i32, ptr %a.p2
  %a.p3 = getelementptr i32, ptr %a, i64 3
  %a.v3 = load i32, ptr %a.p3
  %b.p0 = getelementptr i32, ptr %b, i64 0
  %b.v0 = load i32, ptr %b.p0
  %b.p1 = getelementptr i32, ptr %b, i64 1
  %b.v1 = load i32, ptr %b.p1
  %sums.p0 = getelementptr i32, ptr %sums, i64 0
  %sums.v0 = load float, ptr %sums.p0
  %sums.p1 = getelementptr i32, ptr %sums, i64 1
  %sums.v1 = load float, ptr %sums.p1
  %sums.p2 = getelementptr i32, ptr %sums, i64 2
  %sums.v2 = load float, ptr %sums.p2
  %sums.p3 = getelementptr i32, ptr %sums, i64 3
  %sums.v3 = load float, ptr %sums.p3
  %r = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a.v0, i32 %a.v1, i32 %a.v2, i32 %a.v3, i32 %b.v0, i32 %b.v1, float %sums.v0, float %sums.v1, float %sums.v2, float %sums.v3)
  %r0 = extractvalue {float, float, float, float} %r, 0
  store float %r0, ptr %sums.p0
  %r1 = extractvalue {float, float, float, float} %r, 1
  store float %r1, ptr %sums.p1
  %r2 = extractvalue {float, float, float, float} %r, 2
  store float %r2, ptr %sums.p2
  %r3 = extractvalue {float, float, float, float} %r, 3
  store float %r3, ptr %sums.p3
  ret void
}

; sums += a * b
define void @mma_f16(ptr %sums, ptr %a, ptr %b) alwaysinline convergent {
  %a.p0 = getelementptr i32, ptr %a, i64 0
  %a.v0 = load <2 x half>, ptr %a.p0
  %a.p1 = getelementptr i32, ptr %a, i64 1
  %a.v1 = load <2 x half>, ptr %a.p1
  %a.p2 = getelementptr i32, ptr %a, i64 2
  %a.v2 = load <2 x half>, ptr %a.p2
  %a.p3 = getelementptr i32, ptr %a, i64 3
  %a.v3 = load <2 x half>, ptr %a.p3
  %b.p0 = getelementptr i32, ptr %b, i64 0
  %b.v0 = load <2 x half>, ptr %b.p0
  %b.p1 = getelementptr i32, ptr %b, i64 1
  %b.v1 = load <2 x half>, ptr %b.p1
  %sums.p0 = getelementptr i32, ptr %sums, i64 0
  %sums.v0 = load float, ptr %sums.p0
  %sums.p1 = getelementptr i32, ptr %sums, i64 1
  %sums.v1 = load float, ptr %sums.p1
  %sums.p2 = getelementptr i32, ptr %sums, i64 2
  %sums.v2 = load float, ptr %sums.p2
  %sums.p3 = getelementptr i32, ptr %sums, i64 3
  %sums.v3 = load float, ptr %sums.p3
  %r = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a.v0, <2 x half> %a.v1, <2 x half> %a.v2, <2 x half> %a.v3, <2 x half> %b.v0, <2 x half> %b.v1, float %sums.v0, float %sums.v1, float %sums.v2, float %sums.v3)
  %r0 = extractvalue {float, float, float, float} %r, 0
  store float %r0, ptr %sums.p0
  %r1 = extractvalue {float, float, float, float} %r, 1
  store float %r1, ptr %sums.p1
  %r2 = extractvalue {float, float, float, float} %r, 2
  store float %r2, ptr %sums.p2
  %r3 = extractvalue {float, float, float, float} %r, 3
  store float %r3, ptr %sums.p3
  ret void
}

; sums += a * b
define void @mma_tf32(ptr %sums, ptr %a, ptr %b) alwaysinline convergent {
  %a.p0 = getelementptr i32, ptr %a, i64 0
  %a.v0 = load i32, ptr %a.p0
  %a.p1 = getelementptr i32, ptr %a, i64 1
  %a.v1 = load i32, ptr %a.p1
  %a.p2 = getelementptr i32, ptr %a, i64 2
  %a.v2 = load i32, ptr %a.p2
  %a.p3 = getelementptr i32, ptr %a, i64 3
  %a.v3 = load i32, ptr %a.p3
  %b.p0 = getelementptr i32, ptr %b, i64 0
  %b.v0 = load i32, ptr %b.p0
  %b.p1 = getelementptr i32, ptr %b, i64 1
  %b.v1 = load i32, ptr %b.p1
  %sums.p0 = getelementptr i32, ptr %sums, i64 0
  %sums.v0 = load float, ptr %sums.p0
  %sums.p1 = getelementptr i32, ptr %sums, i64 1
  %sums.v1 = load float, ptr %sums.p1
  %sums.p2 = getelementptr i32, ptr %sums, i64 2
  %sums.v2 = load float, ptr %sums.p2
  %sums.p3 = getelementptr i32, ptr %sums, i64 3
  %sums.v3 = load float, ptr %sums.p3
  %r = call {float, float, float, float} @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %a.v0, i32 %a.v1, i32 %a.v2, i32 %a.v3, i32 %b.v0, i32 %b.v1, float %sums.v0, float %sums.v1, float %sums.v2, float %sums.v3)
  %r0 = extractvalue {float, float, float, float} %r, 0
  store float %r0, ptr %sums.p0
  %r1 = extractvalue {float, float, float, float} %r, 1
  store float %r1, ptr %sums.p1
  %r2 = extractvalue {float, float, float, float} %r, 2
  store float %r2, ptr %sums.p2
  %r3 = extractvalue {float, float, float, float} %r, 3
  store float %r3, ptr %sums.p3
  ret void
}

; sums += a * b
define void @mma_s8(ptr %sums, ptr %a, ptr %b) alwaysinline convergent {
  %a.p0 = getelementptr i32, ptr %a, i64 0
  %a.v0 = load i32, ptr %a.p0
  %a.p1 = getelementptr i32, ptr %a, i64 1
  %a.v1 = load i32, ptr %a.p1
  %a.p2 = getelementptr i32, ptr %a, i64 2
  %a.v2 = load i32, ptr %a.p2
  %a.p3 = getelementptr i32, ptr %a, i64 3
  %a.v3 = load i32, ptr %a.p3
  %b.p0 = getelementptr i32, ptr %b, i64 0
  %b.v0 = load i32, ptr %b.p0
  %b.p1 = getelementptr i32, ptr %b, i64 1
  %b.v1 = load i32, ptr %b.p1
  %sums.p0 = getelementptr i32, ptr %sums, i64 0
  %sums.v0 = load i32, ptr %sums.p0
  %sums.p1 = getelementptr i32, ptr %sums, i64 1
  %sums.v1 = load i32, ptr %sums.p1
  %sums.p2 = getelementptr i32, ptr %sums, i64 2
  %sums.v2 = load i32, ptr %sums.p2
  %sums.p3 = getelementptr i32, ptr %sums, i64 3
  %sums.v3 = load i32, ptr %sums.p3
  %r = call {i32, i32, i32, i32} @llvm.nvvm.mma.m16n8k32.row.col.s8(i32 %a.v0, i32 %a.v1, i32 %a.v2, i32 %a.v3, i32 %b.v0, i32 %b.v1, i32 %sums.v0, i32 %sums.v1, i32 %sums.v2, i32 %sums.v3)
  %r0 = extractvalue {i32, i32, i32, i32} %r, 0
  store i32 %r0, ptr %sums.p0
  %r1 = extractvalue {i32, i32, i32, i32} %r, 1
  store i32 %r1, ptr %sums.p1
  %r2 = extractvalue {i32, i32, i32, i32} %r, 2
  store i32 %r2, ptr %sums.p2
  %r3 = extractvalue {i32, i32, i32, i32} %r, 3
  store i32 %r3, ptr %sums.p3
  ret void
}

