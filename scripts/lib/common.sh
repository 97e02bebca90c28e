# Sourced by the scripts beside it. Installs what they need on a Debian 12 machine and nothing else.

LLVM=/usr/lib/llvm-22
BUILD_PACKAGES="cmake ninja-build ccache clang-22 lld-22 llvm-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libstdc++-12-dev libdnnl-dev libmimalloc-dev libpcre2-dev nlohmann-json3-dev libgtest-dev libopenmpi-dev libzstd-dev zlib1g-dev
  python3 python3-pip ca-certificates"
TEST_PACKAGES="clang-format-22 openmpi-bin python3-psutil python3-venv unzip libclang-rt-22-dev iproute2 procps qemu-user"

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "cannot install packages (user $(id -un)): neither root nor sudo; run this once as root"
  fi
}

# LLVM 22 for Debian 12 is in the security suite, which a stock system has and a bare debootstrap root has not: add it from the
# mirror the system already uses.
add_security_suite() {
  apt-cache show libmlir-22-dev >/dev/null 2>&1 && return
  local mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n1 | sed 's#/* *$##') || true
  [ -n "$mirror" ] || return 0
  say "adding the bookworm-security suite"
  echo "deb ${mirror}-security bookworm-security main" | as_root tee /etc/apt/sources.list.d/tessera-security.list >/dev/null
  as_root apt-get update -q >/dev/null
}

# install_packages NAME...: those not yet there.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || die "cannot install ${missing[*]} (this machine): no apt-get; use Debian 12"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  as_root apt-get update -q >/dev/null || die "apt-get update failed (package lists): see above; check the network"
  add_security_suite
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install failed (${missing[*]}): see above; check the network and the bookworm-security suite"
}

# build_tree PRESET TARGET...: configure and build.
build_tree() {
  local preset=$1; shift
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  cmake --preset "$preset" >build-configure.log 2>&1 || { tail -n 30 build-configure.log >&2; die "configuring failed (preset $preset): see above; remove the build folder and try again"; }
  rm -f build-configure.log
  local dir=build
  [ "$preset" = release ] || dir=build-${preset%%-*}
  ninja -C "$dir" "$@" >&2 || die "building failed (preset $preset): see above"
}

# fetch_ptxas: NVIDIA's assembler beside llm-compile, unless TESSERA_PTXAS says which one to take, or none. Without it programs for GPUs hold PTX only.
fetch_ptxas() {
  [ -z "${TESSERA_PTXAS+set}" ] || return 0
  scripts/fetch-ptxas build/bin >&2 || say "going on without ptxas: programs for GPUs will hold PTX only"
}
