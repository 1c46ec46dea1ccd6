/**
 * The least that a device can be: an HTTPS server of Node with a ready key, in place of the boot manager and the firmware.
 * What start.ts compares a start with, by the same path of files, kernel and machine.
 */

import { execFileSync } from 'node:child_process'
import { createServer } from 'node:https'
import { BUSYBOX } from '../../boot/device/system/programs.ts'

/** start.ts puts one in front of this. */
declare const identity: { key: string; cert: string }

const NETWORK = 'ip link set lo up; ip link set eth0 up; ip addr add 192.168.1.1/24 dev eth0'
execFileSync(BUSYBOX, ['sh', '-c', NETWORK], { env: { PATH: '/usr/bin:/bin' } })
createServer(identity, (_, response) => response.end('{}')).listen(8443, () => console.log('https://192.168.1.1:8443'))
