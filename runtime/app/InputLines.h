// Lines that people wrote: prompts of a file, messages of standard input.
#ifndef TESSERA_RUNTIME_APP_INPUTLINES_H
#define TESSERA_RUNTIME_APP_INPUTLINES_H

#include <cstddef>
#include <istream>
#include <string>

namespace tessera::runtime {

class InputLines {
public:
  InputLines(std::istream &stream, size_t most) : stream_(stream), most_(most) {}

  // The next line without its end, be that LF or CR LF, and the first one without the mark U+FEFF that some
  // editors put in front of a text. False: there is none. Of a line with more than `most` bytes no more than
  // a piece beyond them is read: a device may have no end.
  bool next(std::string &line);

private:
  bool read(std::string &line);

  std::istream &stream_;
  const size_t most_;
  bool isFirst_ = true;
};

} // namespace tessera::runtime
#endif
