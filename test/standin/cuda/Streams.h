// Streams, events and captures.
#ifndef TESSERA_STANDIN_CUDA_STREAMS_H
#define TESSERA_STANDIN_CUDA_STREAMS_H

#include "Call.h"

namespace standin {

// Refuses a call that is unsafe while this thread, or another in global mode, captures; the captures are
// invalid then.
void refuseDuringCapture(Call &call);
// Refuses use of a stream whose capture is invalid.
void refuseInvalidCapture(Call &call, const Stream &stream);
// Makes a capture invalid and refuses the call.
[[noreturn]] void breakCapture(Call &call, const CaptureRef &capture, CUresult code, const std::string &why,
                               const std::string &hint);

// The units that work without a stream comes after: those of the context's blocking streams, and its own.
std::vector<UnitRef> legacyOrder(Call &call);

// The captured part of what streams and events do.
void captureOperation(Call &call, Stream &stream, OperationRef operation);
void captureRecord(Call &call, Stream &stream, Event &event);
void captureWait(Call &call, Stream &stream, Event &event);

} // namespace standin
#endif
