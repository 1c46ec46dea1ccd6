/** Failures of calls to etcd that callers tell apart. */

export type EtcdErrorCode =
  | 'unavailable' // no answer, or none that says: what was asked for may have been done
  | 'compacted' // that revision is not kept any more
  | 'future' // that revision has not come yet
  | 'notFound'
  | 'precondition' // not with the members there are
  | 'unhealthy' // not while a member was not reached for five seconds
  | 'learner' // not of a member without a vote
  | 'full' // until its alarm NOSPACE is taken back
  | 'tooLarge' // the answer, or what was asked for
  | 'malformed' // no answer of etcd
  | 'refused' // for any other reason

export class EtcdError extends Error {
  readonly code: EtcdErrorCode

  constructor(code: EtcdErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EtcdError'
    this.code = code
  }
}

/** Codes of gRPC: https://grpc.io/docs/guides/status-codes/ */
const CANCELLED = 1
const DEADLINE_EXCEEDED = 4
const UNAVAILABLE = 14
const NOT_FOUND = 5
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9

/** Texts of etcd, api/v3rpc/rpctypes/error.go, where its codes say too little. */
const TEXTS: [RegExp, EtcdErrorCode][] = [
  [/required revision has been compacted/, 'compacted'],
  [/required revision is a future revision/, 'future'],
  [/request is too large/, 'tooLarge'],
  [/received message larger than max/, 'tooLarge'], // of gRPC itself, with the code of a full database
  [/too many requests/, 'unavailable'],
  [/unhealthy cluster/, 'unhealthy'],
  [/not supported for learner/, 'learner'],
]

export function errorOf(code: number, message: string): EtcdError {
  const text = TEXTS.find(([pattern]) => pattern.test(message))
  if (text !== undefined) return new EtcdError(text[1], message)
  switch (code) {
    case CANCELLED:
    case DEADLINE_EXCEEDED:
    case UNAVAILABLE:
      return new EtcdError('unavailable', message)
    case NOT_FOUND:
      return new EtcdError('notFound', message)
    case RESOURCE_EXHAUSTED:
      return new EtcdError('full', message)
    case FAILED_PRECONDITION:
      return new EtcdError('precondition', message)
    default:
      return new EtcdError('refused', message)
  }
}
