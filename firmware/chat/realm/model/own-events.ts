import type { User } from './records.ts'
import type { Transaction } from './transaction.ts'

export function publishOwn(
  tx: Transaction,
  { id }: Pick<User, 'id'>,
  type: string,
  op: 'add' | 'update' | 'remove',
  members: Readonly<Record<string, unknown>>,
): void {
  tx.publish({ type, to: [id], make: () => ({ op, ...members }) })
}
