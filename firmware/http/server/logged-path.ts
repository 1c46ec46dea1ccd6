const PATH_MAX = 2000

/** Of a request target; without the query, which may hold a passphrase. `withoutSecrets` takes out what else is not to be logged. */
export const loggedPath = (target: string, withoutSecrets = (path: string): string => path): string =>
  withoutSecrets(target.split('?', 1)[0]!).slice(0, PATH_MAX) // in this order: half a secret would be none that is known
