/* SPDX-License-Identifier: Apache-2.0 */
#include "base/meter.h"

size_t meter_count;
