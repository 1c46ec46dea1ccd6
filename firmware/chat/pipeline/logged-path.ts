/** A path as it is logged: without keys of invitations, and what makes addresses of files and pictures good. */

/** Whoever reads the log shall not use them. In time of the path's length: it is anybody's to send. */
export const withoutSecrets = (path: string): string =>
  path.replaceAll(/[\w-]{16,}/g, (word) => (/[A-Z\d]/.test(word) ? '...' : word))
