/** Views of owners and administrators, in a script of their own. */

import { OrganizationView } from '../organization/organization.tsx'

export const AREAS = { organization: OrganizationView }
