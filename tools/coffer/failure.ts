/** Why a command ends without having done what it is for, and the exit status that says so. */

import { ApiError, expectSuccess, type Transport } from '../../firmware/client/request.ts'

export const EXIT = { done: 0, refused: 1, usage: 2, connection: 3, state: 4, credentials: 5 } as const

export class Failure extends Error {
  readonly exit: number
  readonly hint: string | null
  constructor(exit: number, message: string, hint: string | null = null) {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

export const usage = (message: string, hint: string | null = null) => new Failure(EXIT.usage, message, hint)

/** A refusal that depends on the account. */
export class AccountError extends ApiError {
  readonly account: string
  constructor(error: ApiError, account: string) {
    super(error.status, error.message, error.retryAfter)
    this.account = account
  }
}

/** Its refusals for want of rights name the account, since a command may use several. */
export const namingAccount =
  (transport: Transport, account: string, onUnauthorized: () => Promise<void>): Transport =>
  async (request) => {
    const answer = await transport(request)
    if (answer.status !== 401 && answer.status !== 403) return answer
    if (answer.status === 401) await onUnauthorized()
    return expectSuccess(answer).catch((error: ApiError) => {
      throw new AccountError(error, account)
    })
  }

/** An error of any kind as a sentence, what may help, and an exit status. */
export function explain(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ApiError) return ofApi(error)
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return new Failure(EXIT.refused, message.replace(/^\w+: /, ''))
  return new Failure(EXIT.refused, message)
}

function ofApi(error: ApiError): Failure {
  const { status, message } = error
  const account = error instanceof AccountError ? `, user ${error.account}` : ''
  const text = `${message} (${status}${account})`
  if (status === 401)
    return new Failure(
      EXIT.credentials,
      text,
      'wrong user or passphrase, or a session of an earlier passphrase; --user NAME, coffer logout',
    )
  if (status === 412 && message.includes('Service not available'))
    return new Failure(EXIT.state, text, 'coffer state shows why; coffer unlock, or coffer provision, changes that')
  if (status === 429) return new Failure(EXIT.refused, text, 'too many attempts: wait a second')
  return new Failure(EXIT.refused, text)
}
