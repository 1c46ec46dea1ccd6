/** The chat's only error type: a closed set of codes, from which pipeline/envelope.ts makes answers. Contract section 1.4. */

const STATUS = {
  BAD_REQUEST: 400,
  REQUEST_VARIABLE_MISSING: 400,
  REQUEST_VARIABLE_INVALID: 400,
  REQUEST_CONFUSING_VAR: 400,
  INVALID_JSON: 400,
  MISSING_HTTP_EVENT_HEADER: 400,
  ANOMALOUS_WEBHOOK_PAYLOAD: 400,
  UNSUPPORTED_WEBHOOK_EVENT_TYPE: 200,
  BAD_NARROW: 400,
  BAD_EVENT_QUEUE_ID: 400,
  BAD_IMAGE: 400,
  REALM_UPLOAD_QUOTA: 400,
  CANNOT_DEACTIVATE_LAST_USER: 400,
  STREAM_DOES_NOT_EXIST: 400,
  UNAUTHORIZED_PRINCIPAL: 403,
  CANNOT_ADMINISTER_CHANNEL: 400,
  CHANNEL_ALREADY_EXISTS: 409,
  INVITATION_FAILED: 400,
  MOVE_MESSAGES_TIME_LIMIT_EXCEEDED: 400,
  REACTION_ALREADY_EXISTS: 400,
  REACTION_DOES_NOT_EXIST: 400,
  TOPIC_WILDCARD_MENTION_NOT_ALLOWED: 400,
  STREAM_WILDCARD_MENTION_NOT_ALLOWED: 400,
  EXPECTATION_MISMATCH: 400,
  SYSTEM_GROUP_REQUIRED: 400,
  CANNOT_DEACTIVATE_GROUP_IN_USE: 400,
  INVALID_API_KEY: 401,
  UNAUTHORIZED: 401,
  UNAUTHENTICATED_USER: 401,
  USER_DEACTIVATED: 401,
  REALM_DEACTIVATED: 401,
  AUTHENTICATION_FAILED: 401,
  PASSWORD_AUTH_DISABLED: 401,
  PASSWORD_RESET_REQUIRED: 401,
  NOT_FOUND: 404,
  NONEXISTENT_SUBDOMAIN: 404,
  RATE_LIMIT_HIT: 429,
  INVALID_PUSH_DEVICE_TOKEN: 400,
  PUSH_SERVICE_NOT_CONFIGURED: 400,
  NO_ACTIVE_PUSH_DEVICE: 400,
  SERVER_NOT_READY: 500,
} as const

export type ChatErrorCode = keyof typeof STATUS

/** Members of the answer besides `result`, `msg` and `code`, named by the contract. */
export type ErrorFields = Readonly<Record<string, unknown>>

/** Clients see the message, so it must not contain secrets or paths of this machine. */
export class ChatError extends Error {
  readonly code: ChatErrorCode
  readonly status: number
  readonly fields: ErrorFields

  constructor(code: ChatErrorCode, message: string, fields: ErrorFields = {}, status: number = STATUS[code]) {
    super(message)
    this.name = 'ChatError'
    this.code = code
    this.status = status
    this.fields = fields
  }
}

export const badRequest = (message: string, fields?: ErrorFields) => new ChatError('BAD_REQUEST', message, fields)

/** For objects that the caller may see but not change in this way. */
export const forbidden = (message: string) => new ChatError('BAD_REQUEST', message, {}, 403)

export const notFound = (message: string) => new ChatError('BAD_REQUEST', message, {}, 404)

export const missingParameter = (name: string) =>
  new ChatError('REQUEST_VARIABLE_MISSING', `Missing '${name}' argument`, { var_name: name })

export const confusingParameters = (one: string, other: string) =>
  new ChatError('REQUEST_CONFUSING_VAR', `Can't decide between '${one}' and '${other}'`, {
    var_name1: one,
    var_name2: other,
  })

export const invalidParameter = (name: string, message: string) =>
  new ChatError('REQUEST_VARIABLE_INVALID', message, { var_name: name })
