export const members = 'Members'
export const alone = 'This appliance is in no cluster.'
export const name = 'Name'
export const addresses = 'Addresses'
export const role = 'Role'
export const member = 'Member'
export const learner = 'Learner, without a vote'
export const unjoined = 'Not joined yet'
export const acts = 'Actions'

export const address = 'Address of the new member'
export const addressHint = 'Such as https://192.168.1.2:2380.'
export const add = 'Add a member'
export const addText =
  'Both appliances need the authority below, a TLS certificate signed by it, and this one a backup passphrase. The answer is a joiner kit for the new member.'
export const addFirst =
  'This appliance becomes the first member of a cluster. Until all its records are copied, changes are refused.'
export const addNext = 'The new member is registered as a learner. It joins with the joiner kit.'
export const adding = 'Adding…'
export const added =
  'The member is registered. Save the joiner kit, and open it in this view of the new member. It needs the backup passphrase of this appliance.'
export const saveKit = 'Save the joiner kit'

export const promote = 'Promote'
export const promoteOf = (name: string) => `Promote ${name}`
export const promoteText = 'The learner becomes a member with a vote. It must have caught up first.'
export const promoting = 'Promoting…'
export const change = 'Change addresses'
export const changeOf = (name: string) => `Change addresses: ${name}`
export const changeText =
  'The other members reach it at these addresses from now on. Its TLS certificate must name them.'
export const urls = 'Addresses, separated by spaces'
export const remove = 'Remove'
export const removeOf = (name: string) => `Remove ${name}`
export const removeText =
  'The member stops and cannot return. Its disk keeps the sealed records: reset it, and do not rely on this for a stolen one.'
export const removing = 'Removing…'

export const join = 'Join a cluster'
export const joinText =
  'Erases all users, keys and namespaces of this appliance, and its chat. Settings and audit log stay. Afterwards the unlock passphrase of the member that made the kit opens it.'
export const joinKit = 'Joiner kit'
export const joinKitHint = 'The file that the other member saved.'
export const joinPassphrase = 'Backup passphrase of that member'
export const joinTyped = 'join'
export const joining = 'Joining…'
export const joinNoKit = 'This file is not a joiner kit.'

export const authority = 'Authority of the cluster'
export const authorityText =
  'The TLS certificate of each member is signed by this authority. Use one that signs for nothing else. It can be replaced only outside a cluster, and not removed.'
export const authorityNone = 'No authority is installed.'
export const authorityFile = 'Certificate of the authority in PEM'
export const authorityInstall = 'Install the authority'
