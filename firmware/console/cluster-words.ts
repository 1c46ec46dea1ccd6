export const members = 'Members'
export const alone = 'This appliance is not in a cluster.'
export const name = 'Name'
export const addresses = 'Addresses'
export const role = 'Role'
export const member = 'Member'
export const learner = 'Learner, without a vote'
export const unjoined = 'Not joined yet'
export const acts = 'Actions'

export const address = 'Address of the new member'
export const addressHint = 'For example https://192.168.1.2:2380.'
export const add = 'Add a member'
export const addText =
  'Both appliances need the cluster CA below and a TLS certificate signed by it. This appliance also needs a backup passphrase. The result is a joiner kit for the new member.'
export const addFirst =
  'This appliance becomes the first member of a cluster. Until all its records are copied, changes are refused.'
export const addNext = 'The new member is registered as a learner. It joins with the joiner kit.'
export const adding = 'Adding…'
export const added =
  'The member is registered. Save the joiner kit, and open it in this view on the new member. It needs the backup passphrase of this appliance.'
export const saveKit = 'Save the joiner kit'

export const promote = 'Promote'
export const promoteOf = (name: string) => `Promote ${name}`
export const promoteText = 'The learner becomes a member with a vote. It must have caught up first.'
export const promoting = 'Promoting…'
export const change = 'Change addresses'
export const changeOf = (name: string) => `Change addresses: ${name}`
export const changeText =
  'From now on, the other members use these addresses. The TLS certificate of the member must name them.'
export const urls = 'Addresses, separated by spaces'
export const remove = 'Remove'
export const removeOf = (name: string) => `Remove ${name}`
export const removeText =
  'The member stops and cannot return. Its disk still holds the sealed records, so reset it. This does not protect against a stolen appliance.'
export const removing = 'Removing…'

export const join = 'Join a cluster'
export const joinText =
  'Erases all users, keys and namespaces of this appliance, and its chat. Settings and audit log remain. Afterwards it opens with the unlock passphrase of the member that made the kit.'
export const joinKit = 'Joiner kit'
export const joinKitHint = 'The file that the other member saved.'
export const joinPassphrase = 'Backup passphrase of that member'
export const joinTyped = 'join'
export const joining = 'Joining…'
export const joinNoKit = 'This file is not a joiner kit.'

export const authority = 'Cluster CA'
export const authorityText =
  'This CA signs the TLS certificate of each member. Use a CA that signs nothing else. It can be replaced only outside a cluster, and cannot be removed.'
export const authorityNone = 'No CA is installed.'
export const authorityFile = 'Certificate of the CA in PEM'
export const authorityInstall = 'Install the CA'
