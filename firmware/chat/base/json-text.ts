/** Serialized JSON inside an answer, in pieces that are written as they are: joining them here would copy a long text once more. */
export class JsonText {
  readonly pieces: readonly string[]

  constructor(pieces: readonly string[]) {
    this.pieces = pieces
  }

  toJSON(): unknown {
    return JSON.parse(this.pieces.join(''))
  }
}
