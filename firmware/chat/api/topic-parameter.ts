/** The topic parameter of requests. Contract section 11.13. */

import { text } from '../pipeline/parameters.ts'
import { asTopic } from '../realm/model/topic-names.ts'

export const topic = () => text().map((sent) => asTopic(sent))
