/** The topic of a channel as requests name it. Contract section 11.13. */

import { text } from '../pipeline/parameters.ts'
import { asTopic } from '../realm/model/topic-names.ts'

export const topic = () => text().map((sent) => asTopic(sent))
