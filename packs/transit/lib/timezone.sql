SELECT timezone FROM feed;
