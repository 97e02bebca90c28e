// RUN: llm-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{stage 1 begins at layer 3, where the one before ends at layer 2}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>, #dist.stage<@a, first = 3, layers = 2, at = 1>]
module @a {}

// -----

// expected-error@+1 {{has no stage at coordinate 0 of "pp"}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 1>, #dist.stage<@a, first = 2, layers = 2, at = 1>]
module @a {}

// -----

// expected-error@+1 {{stage 0 has -1 layers at coordinate 0: neither can be negative}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = -1, at = 0>]
module @a {}

// -----

// expected-error@+1 {{stage 0 runs @b, but no module is called so}}
dist.pipeline @p over "pp" = [#dist.stage<@b, first = 0, layers = 1, at = 0>]
module @a {}

// -----

// expected-error@+1 {{has no stage}}
dist.pipeline @p over "pp" = []

// -----

// expected-error@+1 {{has 1 lists for 2 coordinates of "pp"}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {lists = ["0F0 0B0"]}
module @a {}

// -----

// expected-error@+1 {{list 1: }}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {lists = ["0F0 0B0", "1F0 1X0"]}
module @a {}

// -----

// expected-error@+1 {{list 0 has 2F0, and no stage 2 lies there}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {lists = ["0F0 2F0", "1F0"]}
module @a {}

// -----

// expected-error@+1 {{list 1 has (0F1;1B0), and no stage 0 lies there}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {lists = ["0F0", "1F0 (0F1;1B0)"]}
module @a {}

// -----

// expected-error@+1 {{has 0 buffers for what is sent: at least one is needed}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>] {send_buffers = 0 : i64}
module @a {}

// -----

// expected-error@+1 {{times of "forward": expected 2 numbers of type f64, found array<f64: 1.000000e+00>}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {times = {forward = array<f64: 1.0>, link = array<f64: 1.0>}}
module @a {}

// -----

// expected-error@+1 {{times of "link": expected 1 numbers of type f64, found array<f64: 1.000000e+00, 1.000000e+00>}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@a, first = 1, layers = 1, at = 1>] {times = {link = array<f64: 1.0, 1.0>}}
module @a {}

// -----

// expected-error@+1 {{times of "once": array<f64: -1.000000e+00> has what is no time}}
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>] {times = {once = array<f64: -1.0>}}
module @a {}
