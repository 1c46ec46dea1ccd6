const PATH_MAX = 2000

/** Path of a request target for the log. The query may hold a passphrase and is left out; `withoutSecrets` removes other secrets. */
export const loggedPath = (target: string, withoutSecrets = (path: string): string => path): string =>
  withoutSecrets(target.replace(/\?.*$/s, '')).slice(0, PATH_MAX) // cut last: a truncated secret would not be recognized

/**
 * Removes keys of invitations, and tokens that give access to files and pictures, from paths of the chat. Takes linear time, because
 * unauthenticated clients choose the path.
 */
export const withoutSecrets = (path: string): string =>
  path.replaceAll(/[\w-]{16,}/g, (word) => (/[A-Z\d]/.test(word) ? '...' : word))
