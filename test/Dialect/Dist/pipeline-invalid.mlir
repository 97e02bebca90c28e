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
