/** A check has found corrupted memory or a faulty processor: do not use this engine's memory any more. */
export class Fault extends Error {
  override readonly name = 'Fault'
}
