/** The package has no types for this entry. */
declare module 'highlight.js/lib/common' {
  import highlighter from 'highlight.js'
  export default highlighter
}
