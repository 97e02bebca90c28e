// Steps of llm.c's GPT-2 (train_gpt2.c, whose folder is given to the compiler: -I), one for each line of
// standard input. Answers each with a line of JSON, as bench/train/torch_gpt2.py does.
#define TESTING // leaves out its main
#include "train_gpt2.c"

#include <sys/resource.h>

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec * 1e-6; }
static double cpuSeconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// GPT-2 124M with made-up weights: what gpt2_build_from_checkpoint does, without a file.
static void build(GPT2 *model) {
  memset(model, 0, sizeof *model);
  model->config = (GPT2Config){.max_seq_len = 1024,
                               .vocab_size = 50257,
                               .padded_vocab_size = 50304,
                               .num_layers = 12,
                               .num_heads = 12,
                               .channels = 768};
  fill_in_parameter_sizes(model->param_sizes, model->config);
  for (size_t i = 0; i < NUM_PARAMETER_TENSORS; i++)
    model->num_parameters += model->param_sizes[i];
  model->params_memory = malloc_and_point_parameters(&model->params, model->param_sizes);
  unsigned state = 1;
  for (size_t i = 0; i < model->num_parameters; i++) {
    state = state * 1664525u + 1013904223u;
    model->params_memory[i] = ((int)(state >> 8) - (1 << 23)) * (0.04f / (1 << 23));
  }
  model->mean_loss = -1.0f;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: llmc_steps BATCH SEQ\n");
    return 1;
  }
  const int B = atoi(argv[1]), T = atoi(argv[2]);
  GPT2 model;
  build(&model);
  int *inputs = (int *)mallocCheck(B * T * sizeof(int)), *targets = (int *)mallocCheck(B * T * sizeof(int));
  for (int i = 0; i < B * T; i++) {
    inputs[i] = (int)(((long)(i % T) * 7919 + (long)(i / T) * 104729 + 1) % 50257);
    targets[i] = (int)(((long)(i % T + 1) * 7919 + (long)(i / T) * 104729 + 1) % 50257);
  }
  char line[64];
  for (int step = 1; fgets(line, sizeof line, stdin); step++) {
    const double start = now(), cpu = cpuSeconds();
    gpt2_forward(&model, inputs, targets, B, T);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-5f, 0.9f, 0.95f, 1e-8f, 0.1f, step);
    printf("{\"step_s\": %.6f, \"cpu_s\": %.6f, \"loss\": %.6f}\n", now() - start, cpuSeconds() - cpu,
           model.mean_loss);
    fflush(stdout);
  }
  return 0;
}
