/**
 * The disk of this device: the one with all of Coffer's partitions, identified by their names in the partition table. UEFI 2.10,
 * chapter 5.
 */

import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const ESP_NAME = 'coffer-esp'
const ROOT_NAMES = ['coffer-root-a', 'coffer-root-b']
const DATA_NAME = 'coffer-data'
const SECTOR_BYTES = 512 // unit of sysfs, independent of the disk
const APPEAR_MS_MAX = 15_000 // for disks behind USB or a slow controller
const LOOK_EVERY_MS = 100

export interface OurDisk {
  disk: string
  esp: string
  /** Partition for a root file system that is not in use. */
  spareRoot: { path: string; bytes: number }
  data: string
  dataNumber: number
}

export class DiskError extends Error {}

/** Waits for the disk. Throws a DiskError if there is none, or more than one. */
export async function findDisk(sysfs = '/sys', appearMsMax = APPEAR_MS_MAX): Promise<OurDisk> {
  const deadline = performance.now() + appearMsMax
  for (;;) {
    const disks = lookForDisks(sysfs)
    const [disk, ...others] = disks
    if (others.length > 0)
      throw new DiskError(`${disks.map(({ disk }) => disk).join(' and ')} both hold a Coffer; remove all but one`)
    if (disk !== undefined) return disk
    if (performance.now() > deadline)
      throw new DiskError(`no disk has the partitions ${[ESP_NAME, ...ROOT_NAMES].join(', ')} and ${DATA_NAME}`)
    await wait(LOOK_EVERY_MS)
  }
}

interface Partition {
  disk: string
  name: string
  label: string
  number: number
  bytes: number
  /** True if another device, such as dm-verity, uses it. */
  inUse: boolean
}

function lookForDisks(sysfs: string): OurDisk[] {
  const partitions = readdirSync(`${sysfs}/class/block`).flatMap((name) => readPartition(sysfs, name))
  const labelled = (label: string) => partitions.filter((partition) => partition.label === label)
  return labelled(ESP_NAME).flatMap((esp) => {
    const here = ({ disk }: Partition) => disk === esp.disk
    const data = labelled(DATA_NAME).find(here)
    const spareRoot = ROOT_NAMES.flatMap(labelled).find((root) => here(root) && !root.inUse)
    if (data === undefined || spareRoot === undefined) return []
    return {
      disk: `/dev/${esp.disk}`,
      esp: `/dev/${esp.name}`,
      spareRoot: { path: `/dev/${spareRoot.name}`, bytes: spareRoot.bytes },
      data: `/dev/${data.name}`,
      dataNumber: data.number,
    }
  })
}

/** Empty if it is not a partition, or disappears meanwhile. */
function readPartition(sysfs: string, name: string): Partition[] {
  try {
    const directory = realpathSync(`${sysfs}/class/block/${name}`)
    const properties = new Map(
      readFileSync(`${directory}/uevent`, 'utf8')
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    if (properties.get('DEVTYPE') !== 'partition') return []
    const label = properties.get('PARTNAME') ?? ''
    const bytes = Number(readFileSync(`${directory}/size`, 'utf8')) * SECTOR_BYTES
    const inUse = readdirSync(`${directory}/holders`).length > 0
    return [{ disk: basename(dirname(directory)), name, label, number: Number(properties.get('PARTN')), bytes, inUse }]
  } catch {
    return []
  }
}
