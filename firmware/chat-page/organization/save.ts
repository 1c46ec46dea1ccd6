import { call } from '../api.ts'

/** Changes one setting of the organization. */
export const saveRealm = (name: string, value: unknown): Promise<unknown> => call('PATCH', '/realm', { [name]: value })
