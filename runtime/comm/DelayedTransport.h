// Messages that take as long as they would over a slower network: for measurements on one machine.
#ifndef TESSERA_RUNTIME_COMM_DELAYEDTRANSPORT_H
#define TESSERA_RUNTIME_COMM_DELAYEDTRANSPORT_H

#include "Transport.h"

namespace tessera::runtime {

// Where TESSERA_COMM_DELAY=MICROSECONDS,BYTES_PER_SECOND is set, messages to a rank come through one link of
// that bandwidth, one after another from the moment when the rank asks for them, and each arrives that much
// later; what computes goes on meanwhile. Otherwise `transport` itself. Throws Error for a value that is
// none.
std::unique_ptr<Transport> delayedTransport(std::unique_ptr<Transport> transport);

} // namespace tessera::runtime
#endif
