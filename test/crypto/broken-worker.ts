/** A worker of the pool that makes wrong signatures with EC_P384. */

import { breakCurve } from './break.ts'
import '../../firmware/crypto/pool/worker.ts'

breakCurve('EC_P384')
