
#ifndef TESSERA_TOOLS_TESSERA_OBJECTFILE_H
#define TESSERA_TOOLS_TESSERA_OBJECTFILE_H

#include "tessera/Object/Object.h"
#include <string>

namespace tessera::tool {

/// By name (`.tsr`) or content (ELF); an error if it cannot be read.
Result<bool> isObjectFile(const std::string &path);
Result<Object> readObjectFile(const std::string &path);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_OBJECTFILE_H
