export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'LIST'

export interface Endpoint {
  readonly method: Method
  readonly path: string
}

/** Name of an endpoint in level changes and tests, such as `PATCH /realm`. */
export const endpointName = ({ method, path }: Endpoint): string => `${method} ${path}`
