/** A check found that memory or a processor is not what it was: what is kept here cannot be used any more. */
export class Fault extends Error {
  override readonly name = 'Fault'
}
