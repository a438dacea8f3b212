"""The array types of this room, named once.

Invariant: counts are 64-bit integers and measured amounts 64-bit floats, NaN where unknown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
