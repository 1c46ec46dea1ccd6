/** The terminal: output lines, and a prompt without echo that stays intact below them. */

import { readFileSync } from 'node:fs'
import type { ReadStream, WriteStream } from 'node:tty'
import { wipe } from '../../firmware/base/secret.ts'
import { createPassphraseEditor } from './passphrase-editor.ts'

const PROMPT = 'Unlock passphrase: '
const ERASE_LINE = '\r\x1b[K' // ECMA-48 EL

export interface Terminal {
  /** Prints a line above the prompt. */
  print(text: string): void
  /** False without a terminal on standard input, or in the background, where reading would stop the process. */
  canAsk(): boolean
  isAsking(): boolean
  /** Turns off the echo and drops input until the prompt, so that a passphrase typed early is not shown. */
  silence(): void
  /** Shows the prompt. `onPassphrase` receives each passphrase; the prompt returns with the next `ask`. */
  ask(): void
  /** Removes the prompt and restores the terminal. */
  release(): void
}

interface ConsoleOptions {
  input: ReadStream
  output: WriteStream
  /** False if no other program uses the terminal: there is no job control, and Ctrl-C only clears the input. */
  shared: boolean
  /** Receives the passphrase: empty if nothing was typed, null if it was too long. The callee wipes it. */
  onPassphrase: (passphrase: Uint8Array | null) => void
  /** Called on Ctrl-C at the prompt if the terminal sends no signal for it. */
  onInterrupt: () => void
}

export function openConsole({ input, output, shared, onPassphrase, onInterrupt }: ConsoleOptions): Terminal {
  const editor = createPassphraseEditor()
  let mode: 'released' | 'silent' | 'asking' = 'released'

  // A closed output (`| head`) must not stop the key service.
  output.on('error', () => {})

  const canAsk = () => input.isTTY === true && (!shared || inForeground())
  const erasePrompt = () => output.write(output.isTTY ? ERASE_LINE : '\n')

  const silence = () => {
    if (mode === 'released') {
      if (!canAsk()) return
      input.setRawMode(true)
      input.resume()
    }
    mode = 'silent'
  }

  const release = () => {
    if (mode === 'released') return
    if (mode === 'asking') erasePrompt()
    editor.clear()
    input.setRawMode(false)
    input.pause()
    mode = 'released'
  }

  const take = (byte: number) => {
    const typed = editor.feed(byte)
    if (typed === 'interrupt') {
      editor.clear()
      if (shared) onInterrupt()
    } else if (mode === 'asking' && typed === 'enter') {
      mode = 'silent'
      output.write('\n')
      onPassphrase(editor.take())
    } else if (mode === 'silent') editor.clear()
  }

  if (input.isTTY) {
    input.on('data', (bytes: Buffer) => {
      for (const byte of bytes) take(byte)
      wipe(bytes)
    })
    input.on('error', release) // the terminal was closed
    input.pause()
  }

  return {
    canAsk,
    isAsking: () => mode === 'asking',
    silence,
    release,
    print: (text) => {
      if (mode === 'asking') erasePrompt()
      output.write(mode === 'asking' ? `${text}\n${PROMPT}` : `${text}\n`)
    },
    ask: () => {
      silence()
      if (mode !== 'silent') return
      editor.clear()
      mode = 'asking'
      output.write(PROMPT)
    },
  }
}

/** proc(5): `pid (comm) state ppid pgrp session tty_nr tpgid ...`; comm may contain any characters, including spaces. */
function inForeground(): boolean {
  const status = readFileSync('/proc/self/stat', 'latin1')
  const [, , processGroup, , , foregroundGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return processGroup === foregroundGroup
}
