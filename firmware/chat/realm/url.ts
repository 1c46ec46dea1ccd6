/** Where the organization is, for links. */

import type { Organization } from './records.ts'

/** Without a slash at its end. Until somebody has set it, the host that the client asked. */
export const urlOf = ({ url }: Organization, host: string | undefined): string =>
  url === '' ? `https://${host ?? 'localhost'}` : url
