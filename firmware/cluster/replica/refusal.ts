/** etcd holds what no honest member has written: this node keeps what it has, and follows no more. */
export class Refusal extends Error {
  constructor(why: string, cause?: unknown) {
    super(`What the cluster holds is refused: ${why}`, cause === undefined ? undefined : { cause })
    this.name = 'Refusal'
  }
}
