/** The chat process, and the pipe between the chat and the firmware. */

import type { ChildProcess } from 'node:child_process'
import type { ToFirmware } from '../firmware/channel/protocol.ts'
import type { Platform } from './platform.ts'
import { createChatProcess, type SupervisedChat } from './supervisor/chat-process.ts'
import { type FirmwareCommand, linkOf } from './supervisor/firmware-process.ts'
import { chatProgramOf } from './supervisor/own-firmware.ts'
import { createRelay } from './supervisor/relay.ts'
import type { Running } from './versions/slots.ts'

interface JoinedChatOptions {
  platform: Platform
  running: () => Running
  send: (message: ToFirmware) => void
  onLines: (lines: string[]) => void
}

export interface JoinedChat extends SupervisedChat {
  /** Connects the next chat process to this firmware. A chat that sends an invalid message is killed. */
  join(firmware: ChildProcess): void
}

export function createChat({ platform, running, send, onLines }: JoinedChatOptions): JoinedChat {
  const joint = createRelay()
  const chat = createChatProcess({
    command: () => commandOf(platform, running()),
    lock: platform.lock,
    onLaunch: (process) => joint.joinChat(linkOf(process)),
    onDown: (problem) => send({ type: 'chatDown', problem }),
    onLines,
  })
  return {
    ...chat,
    join(firmware) {
      const pipe = linkOf(firmware)
      joint.joinFirmware(pipe, (why) => {
        onLines([`The firmware ${why}. It is killed.`])
        firmware.kill('SIGKILL')
      })
      pipe.on('close', () => chat.want('none')) // the chat has its key from this firmware
    },
  }
}

function commandOf(platform: Platform, running: Running): FirmwareCommand {
  const { chat, settings } = platform
  if (chat === null || settings.chat === undefined) throw new Error('This platform has no chat')
  const { launcher, heapMegabytes, makeDirectory } = chat
  makeDirectory()
  return {
    serves: 'chat',
    launcher,
    program: chatProgramOf(running.program),
    readable: running.readable,
    storeDirectory: settings.chat.directory,
    heapMegabytes,
  }
}
