//===- Window.cpp - Sliding windows
//-----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"
#include "TensorBuilders.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

SmallVector<int64_t, 2> Window::fullPadsHigh() const {
  return {padsHigh[0] + beyond[0], padsHigh[1] + beyond[1]};
}

int64_t Window::countInside(unsigned dim, int64_t index, bool countPads) const {
  int64_t first = index * strides[dim] - padsLow[dim];
  int64_t low = countPads ? -padsLow[dim] : 0;
  int64_t high = input[dim] + (countPads ? padsHigh[dim] : 0);
  // Taps first + k * dilation in [low, high), 0 <= k < kernel.
  int64_t step = dilations[dim];
  int64_t begin = first >= low ? 0 : (low - first + step - 1) / step;
  int64_t end = high <= first ? 0 : (high - first + step - 1) / step;
  return std::max<int64_t>(0, std::min(end, kernel[dim]) - begin);
}

SmallVector<int64_t>
tessera::onnx::withTwoSpatialDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result(shape);
  if (result.size() == 3)
    result.insert(result.begin() + 2, 1);
  return result;
}

/// Larger extents would make sums of products of them overflow.
static constexpr int64_t maxExtent = int64_t(1) << 30;

/// An attribute with `count` integers of at least `least`.
static tessera::Result<SmallVector<int64_t>>
readExtents(NodeImport &node, StringRef name, size_t count, int64_t least,
            int64_t byDefault) {
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute(name));
  if (!given)
    return SmallVector<int64_t>(count, byDefault);
  if (given->size() != count)
    return NodeImport::error(fmt::format("attribute '{}' has {} values; "
                                         "accepted are {} here",
                                         name.str(), given->size(), count));
  for (int64_t value : *given)
    if (value < least || value > maxExtent)
      return NodeImport::error(fmt::format("attribute '{}' has the value {}; "
                                           "accepted are {} to 2^30",
                                           name.str(), value, least));
  return SmallVector<int64_t>(given->begin(), given->end());
}

tessera::Result<std::vector<int64_t>>
tessera::onnx::readKernelShape(NodeImport &node, size_t rank) {
  if (!node.hasAttribute("kernel_shape"))
    return NodeImport::error("has no attribute 'kernel_shape'");
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> kernel,
                           readExtents(node, "kernel_shape", rank, 1, 1));
  return std::vector<int64_t>(kernel.begin(), kernel.end());
}

tessera::Result<Window> tessera::onnx::readWindow(NodeImport &node,
                                                  ArrayRef<int64_t> spatial,
                                                  ArrayRef<int64_t> kernel) {
  size_t rank = spatial.size();
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                           readExtents(node, "kernel_shape", rank, 1, 1));
  if (node.hasAttribute("kernel_shape") && ArrayRef(shape) != kernel)
    return NodeImport::error(fmt::format("attribute 'kernel_shape' is {}, the "
                                         "weights have {}",
                                         shapeText(shape), shapeText(kernel)));
  for (int64_t extent : llvm::concat<const int64_t>(spatial, kernel))
    if (extent < 1 || extent > maxExtent)
      return NodeImport::error(fmt::format("a spatial extent is {}; accepted "
                                           "are 1 to 2^30",
                                           extent));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> strides,
                           readExtents(node, "strides", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> dilations,
                           readExtents(node, "dilations", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> pads,
                           readExtents(node, "pads", 2 * rank, 0, 0));
  TESSERA_ASSIGN_OR_RETURN(std::string automatic,
                           node.stringAttribute("auto_pad", "NOTSET"));
  TESSERA_ASSIGN_OR_RETURN(bool ceil, node.flagAttribute("ceil_mode", false));
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    return NodeImport::error(
        fmt::format("attribute 'auto_pad' is '{}'; accepted are NOTSET, "
                    "SAME_UPPER, SAME_LOWER and VALID",
                    automatic));
  if (automatic != "NOTSET" &&
      llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    return NodeImport::error(fmt::format(
        "has 'pads' and auto_pad '{}'; accepted is one of them", automatic));

  Window window;
  if (rank == 1) {
    for (auto *list : {&window.input, &window.kernel, &window.strides,
                       &window.dilations, &window.output})
      list->push_back(1);
    for (auto *list : {&window.padsLow, &window.padsHigh, &window.beyond})
      list->push_back(0);
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    int64_t low = pads[i], high = pads[rank + i], output, beyond = 0;
    if (same) {
      output = (spatial[i] + strides[i] - 1) / strides[i];
      int64_t total =
          std::max<int64_t>(0, (output - 1) * strides[i] + reach - spatial[i]);
      low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else {
      int64_t room = spatial[i] + low + high - reach;
      if (room < 0)
        return NodeImport::error(
            fmt::format("a window reaches over {} elements, input and padding "
                        "have {}",
                        reach, spatial[i] + low + high));
      output = (ceil ? room + strides[i] - 1 : room) / strides[i] + 1;
      // A last window that would start in the padding behind is left out.
      if (ceil && (output - 1) * strides[i] >= spatial[i] + low)
        --output;
      beyond = std::max<int64_t>(0, (output - 1) * strides[i] - room);
    }
    window.input.push_back(spatial[i]);
    window.kernel.push_back(kernel[i]);
    window.strides.push_back(strides[i]);
    window.dilations.push_back(dilations[i]);
    window.padsLow.push_back(low);
    window.padsHigh.push_back(high);
    window.beyond.push_back(beyond);
    window.output.push_back(output);
  }
  return window;
}
