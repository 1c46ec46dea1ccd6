/** The console: lines of output, and a prompt without echo that lines of output do not tear apart. */

import { readFileSync } from 'node:fs'
import type { ReadStream, WriteStream } from 'node:tty'
import { wipe } from '../../firmware/base/secret.ts'
import { createPassphraseEditor } from './passphrase-editor.ts'

const PROMPT = 'Unlock passphrase: '
const ERASE_LINE = '\r\x1b[K' // ECMA-48 EL

export interface Terminal {
  /** Prints one line above the prompt. */
  print(text: string): void
  /** False without a terminal on standard input, or in the background, where reading would stop the process. */
  canAsk(): boolean
  /** True while the prompt is shown. */
  isAsking(): boolean
  /** Turns the echo off and drops what is typed, until the prompt: typing ahead must not show a passphrase. */
  silence(): void
  /** Shows the prompt. Each passphrase goes to `onPassphrase`; the prompt comes back with the next `ask`. */
  ask(): void
  /** Takes the prompt away and gives the terminal back. */
  release(): void
}

interface ConsoleOptions {
  input: ReadStream
  output: WriteStream
  /** False: the terminal is ours alone, there is no job control, and Ctrl-C only clears what was typed. */
  shared: boolean
  /** The passphrase as typed, empty when there was none, null when it was too long; the callee wipes it. */
  onPassphrase: (passphrase: Uint8Array | null) => void
  /** Ctrl-C at the prompt, where the terminal does not make a signal of it. */
  onInterrupt: () => void
}

export function openConsole({ input, output, shared, onPassphrase, onInterrupt }: ConsoleOptions): Terminal {
  const editor = createPassphraseEditor()
  let mode: 'released' | 'silent' | 'asking' = 'released'

  // A reader of our output who has gone away (`| head`) is no reason to stop keeping keys.
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

/** proc(5): `pid (comm) state ppid pgrp session tty_nr tpgid ...`; comm may hold anything, also spaces. */
function inForeground(): boolean {
  const status = readFileSync('/proc/self/stat', 'latin1')
  const [, , processGroup, , , foregroundGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return processGroup === foregroundGroup
}
