// RUN: llm-opt %s --dist-check-shard-items --split-input-file --verify-diagnostics | FileCheck %s
// What one stage lacks another has.
// CHECK-NOT: unknown_items
module {
  module @first attributes {tessera.unknown_items = ["vocab=-"]} {}
  module @last attributes {tessera.unknown_items = ["ffn=-"]} {}
}

// -----

// expected-error@+1 {{--shard item 'nothing=-': no stage has a value or a dimension of this name; compile without pp to be told the names that there are}}
module {
  module @first attributes {tessera.unknown_items = ["vocab=-", "nothing=-"]} {}
  module @last attributes {tessera.unknown_items = ["nothing=-"]} {}
}
