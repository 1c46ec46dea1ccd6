/** Renders a component again only if one of its properties has changed. */

import { Component, type ComponentChildren, createElement, type FunctionComponent } from 'preact'

export function memo<P extends object>(draw: (props: P) => ComponentChildren): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return Object.keys(next).some((name) => next[name as keyof P] !== this.props[name as keyof P])
    }

    override render() {
      return draw(this.props)
    }
  }
  return (props) => createElement(Memo, props)
}
