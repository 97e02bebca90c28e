// Prints how many bytes a second THREADS threads read from memory: the best of ten passes over 512 MB.
//   read-bandwidth THREADS
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (threads < 1)
    return 1;
  const size_t words = size_t(512) << 17;
  auto data = std::make_unique<uint64_t[]>(words);
  for (size_t i = 0; i < words; ++i)
    data[i] = i;
  std::vector<uint64_t> sums(size_t(threads) * 8);
  double best = 1e30;
  for (int pass = 0; pass < 10; ++pass) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        uint64_t sum = 0;
        const size_t end = words / size_t(threads) * size_t(t + 1);
        for (size_t i = words / size_t(threads) * size_t(t); i < end; ++i)
          sum += data[i];
        sums[size_t(t) * 8] += sum;
      });
    for (std::thread &thread : team)
      thread.join();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = seconds < best ? seconds : best;
  }
  uint64_t all = 0;
  for (uint64_t sum : sums)
    all += sum;
  std::fprintf(stderr, "%llu\n", static_cast<unsigned long long>(all)); // or nothing would have to be read
  std::printf("%.0f\n", double(words) * 8 / best);
}
