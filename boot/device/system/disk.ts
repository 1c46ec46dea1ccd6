/** Our disk: the one with all of our partitions, known by their names in its partition table. UEFI 2.10, chapter 5. */

import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const ESP_NAME = 'coffer-esp'
const ROOT_NAMES = ['coffer-root-a', 'coffer-root-b']
const DATA_NAME = 'coffer-data'
const SECTOR_BYTES = 512 // of sysfs, whatever the disk's are
const APPEAR_MS_MAX = 15_000 // disks behind USB or a slow controller
const LOOK_EVERY_MS = 100

export interface OurDisk {
  /** Device files. */
  disk: string
  esp: string
  /** The place for a root file system that does not hold the running one. */
  spareRoot: { path: string; bytes: number }
  data: string
  /** In the disk's partition table. */
  dataNumber: number
}

export class DiskError extends Error {}

/** Waits for the disk to appear; throws a DiskError when there is none, or more than one. */
export async function findDisk(sysfs = '/sys', appearMsMax = APPEAR_MS_MAX): Promise<OurDisk> {
  const deadline = performance.now() + appearMsMax
  for (;;) {
    const disks = lookForDisks(sysfs)
    if (disks.length === 1) return disks[0]!
    if (disks.length > 1)
      throw new DiskError(`${disks.map(({ disk }) => disk).join(' and ')} both hold a Coffer; remove all but one`)
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
  /** By a device on top of it. */
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

/** Empty for what is no partition, or vanishes while we look. */
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
