export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

export interface Endpoint {
  readonly method: Method
  readonly path: string
}

/** `PATCH /realm`: levels and tests refer to an endpoint by it. */
export const endpointName = ({ method, path }: Endpoint): string => `${method} ${path}`
